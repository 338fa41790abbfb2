package carillon.store.tasks;

import carillon.store.catalog.AuditDetail;
import carillon.store.db.Json;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** The detail of audit records about tasks; bounded and without secrets, like all of them. */
final class TaskAuditDetail {

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private TaskAuditDetail() {}

  /** The detail of an edit: the names of the fields, their old values and their new ones. */
  static String of(TaskView before, TaskPatch patch) {
    ObjectNode old = NODES.objectNode();
    ObjectNode changed = NODES.objectNode();
    if (patch.dueAt() != null) {
      old.put("dueAt", AuditDetail.text(before.dueAt()));
      changed.put("dueAt", AuditDetail.text(patch.dueAt()));
    }
    if (patch.priority() != null) {
      old.put("priority", before.priority());
      changed.put("priority", patch.priority());
    }
    if (patch.payload() != null) {
      old.put("payload", AuditDetail.payload(before.spec().payload()));
      changed.put("payload", AuditDetail.payload(patch.payload()));
    }
    if (patch.retry() != null) {
      AuditDetail.set(old, "retry", AuditDetail.retry(before.spec().retry()));
      AuditDetail.set(changed, "retry", AuditDetail.retry(patch.retry()));
    }
    if (patch.key() != null) {
      old.put("key", before.key());
      changed.put("key", patch.key());
    }
    if (patch.target() != null) {
      AuditDetail.set(old, "target", AuditDetail.target(before.spec().target()));
      AuditDetail.set(changed, "target", AuditDetail.target(patch.target()));
    }
    ObjectNode detail = NODES.objectNode();
    var fields = detail.putArray("fields");
    patch.fields().forEach(fields::add);
    detail.set("old", old);
    detail.set("new", changed);
    return AuditDetail.bounded(detail);
  }

  /** The filter of a bulk change. */
  static ObjectNode of(TaskFilter filter) {
    ObjectNode node = NODES.objectNode();
    node.put("type", filter.type());
    node.put("status", filter.state() == null ? null : filter.state().name());
    node.put("key", filter.key());
    node.put("schedule", filter.schedule());
    node.put("dueAfter", AuditDetail.text(filter.dueAfter()));
    node.put("dueBefore", AuditDetail.text(filter.dueBefore()));
    node.put("error", filter.error());
    if (!filter.metadata().isEmpty()) {
      node.set("metadata", Json.of(filter.metadata()));
    }
    return AuditDetail.withoutNulls(node);
  }
}
