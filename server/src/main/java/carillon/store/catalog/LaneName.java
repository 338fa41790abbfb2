package carillon.store.catalog;

import carillon.model.task.Lane;
import carillon.model.task.Route;

/** The properties that identify a lane before it has an id. */
record LaneName(int tenant, String type, int priority, int slice, Route route) {

  static LaneName of(Lane lane) {
    return new LaneName(
        lane.tenant().value(), lane.type(), lane.priority(), lane.slice(), lane.route());
  }

  LaneName nextSlice() {
    return new LaneName(tenant, type, priority, slice + 1, route);
  }
}
