package carillon.api.admin;

import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.http.Query;
import carillon.api.http.Role;
import carillon.api.json.Times;
import carillon.store.catalog.Audit;
import carillon.store.db.Page;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/** Lists the audit log. */
public final class AuditRoutes {

  private static final int MAX_TEXT = 200;

  private final Audit audit;
  private final DatabaseGate database;
  private final Paging paging;

  public AuditRoutes(Audit audit, DatabaseGate database, Paging paging) {
    this.audit = audit;
    this.database = database;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get(
            "/v1/audit",
            Permission.AUDIT,
            Set.of("action", "subject", "limit", "cursor"),
            this::list));
  }

  private Answer list(Call call) {
    Query query = call.query();
    Audit.Filter filter =
        new Audit.Filter(
            query.text("action", MAX_TEXT),
            query.text("subject", MAX_TEXT),
            call.caller().role() == Role.ADMIN); // other roles must not see the keys of admins
    int limit = query.limit();
    Long before = paging.start(call, AuditRoutes::position);
    Page<Audit.Entry, Long> page =
        database.use(() -> audit.list(call.tenant(), filter, limit, before));
    return paging.answer(
        call,
        page.items().stream().map(AuditRoutes::json).toList(),
        page.next() == null ? null : page.next().toString());
  }

  private static @Nullable Long position(String text) {
    return Long.valueOf(text); // cursors are ours, so it parses
  }

  private static ObjectNode json(Audit.Entry entry) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("id", entry.id());
    node.put("at", Times.format(entry.at()));
    node.put("by", entry.who());
    node.put("action", entry.action());
    node.put("subject", entry.subject());
    if (entry.detail() == null) {
      node.putNull("detail");
    } else {
      node.putRawValue("detail", new RawValue(entry.detail()));
    }
    return node;
  }
}
