package carillon.api.live;

import java.util.Map;
import java.util.Set;

/** What {@code GET /v1/stats} answers, for many by one look. */
@FunctionalInterface
public interface StatsLook {

  /** The JSON for each; who is missing has to ask again. */
  Map<Viewer, String> of(Set<Viewer> viewers);
}
