package carillon.api;

import carillon.model.NewTask;
import carillon.model.TenantId;
import carillon.store.TaskView;
import carillon.store.Types;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Holds payloads against the schemas of their types. A type without a schema costs a look-up. */
final class PayloadSchemas {

  private static final String POINTER = "/payload";

  private static final int MOST_KEPT = 1_000;

  private final Types types;
  private final Map<TypeName, PayloadSchema> compiled = new ConcurrentHashMap<>();

  private record TypeName(int tenant, String name) {}

  PayloadSchemas(Types types) {
    this.types = types;
  }

  void mustFit(TenantId tenant, NewTask task) {
    Mistakes mistakes = new Mistakes();
    check(tenant, task.type(), task.payload(), POINTER, new CheckBudget(), mistakes);
    mistakes.refuse();
  }

  void mustFit(TenantId tenant, List<NewTask> batch) {
    Mistakes mistakes = new Mistakes();
    CheckBudget budget = new CheckBudget();
    for (int i = 0; i < batch.size() && !mistakes.isFull(); i++) {
      NewTask task = batch.get(i);
      check(tenant, task.type(), task.payload(), "/tasks/" + i + POINTER, budget, mistakes);
    }
    mistakes.refuse();
  }

  void mustFit(TenantId tenant, TaskView task) {
    Mistakes mistakes = new Mistakes();
    check(tenant, task.type(), task.payload(), POINTER, new CheckBudget(), mistakes);
    mistakes.refuse();
  }

  /** A schema may have changed since its tasks were created. */
  void mustStillFit(TenantId tenant, TaskView task) {
    try {
      mustFit(tenant, task);
    } catch (ApiException e) {
      throw new ApiException(
          e.code(),
          "the payload no longer fits the schema of its type, edit it first: " + e.detail(),
          e.errors());
    }
  }

  private void check(
      TenantId tenant,
      String type,
      @Nullable String payload,
      String pointer,
      CheckBudget budget,
      Mistakes mistakes) {
    String schema = types.known(tenant, type).schema();
    if (schema != null) {
      compiled(new TypeName(tenant.value(), type), schema)
          .check(payload, pointer, budget, mistakes);
    }
  }

  /** Known by its text: a type that was deleted and made again starts with version 1 again. */
  private PayloadSchema compiled(TypeName type, String schema) {
    PayloadSchema known = compiled.get(type);
    if (known != null && known.isOf(schema)) {
      return known;
    }
    Optional<PayloadSchema> made = PayloadSchema.compile(schema, "", new Mistakes());
    if (made.isEmpty()) { // accepted by an earlier release with other rules
      throw new ApiException(
          ErrorCode.INVALID_SCHEMA, "the schema of the type cannot be used; put the type again");
    }
    if (compiled.size() >= MOST_KEPT) {
      compiled.clear(); // rather made again than kept without end
    }
    compiled.put(type, made.get());
    return made.get();
  }
}
