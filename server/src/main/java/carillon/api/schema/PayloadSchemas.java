package carillon.api.schema;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.ValidationErrors;
import carillon.model.TenantId;
import carillon.model.task.NewTask;
import carillon.store.catalog.Types;
import carillon.store.tasks.PackedTasks;
import carillon.store.tasks.TaskView;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Validates payloads against the schemas of their types. A type without a schema costs a lookup.
 */
public final class PayloadSchemas {

  private static final String POINTER = "/payload";

  private final Types types;
  private final CompiledSchemas compiled = new CompiledSchemas();

  public PayloadSchemas(Types types) {
    this.types = types;
  }

  public void validate(TenantId tenant, NewTask task) {
    validate(tenant, task.type(), task.spec().payload());
  }

  public void validate(TenantId tenant, String type, @Nullable String payload) {
    ValidationErrors errors = new ValidationErrors();
    check(tenant, type, payload, POINTER, new CheckBudget(1), errors);
    errors.throwIfAny();
  }

  /** Validates all payloads of a batch; may take some seconds. */
  public ValidationErrors findErrors(TenantId tenant, PackedTasks batch) {
    ValidationErrors errors = new ValidationErrors();
    CheckBudget budget = new CheckBudget(batch.size());
    PackedTasks.Cursor task = batch.cursor();
    while (!errors.isFull() && !budget.isSpent() && task.next()) {
      if (types.known(tenant, task.type()).schema() != null) {
        String pointer = "/tasks/" + task.index() + POINTER;
        check(tenant, task.type(), task.payload(), pointer, budget, errors);
      }
    }
    return errors;
  }

  public void validate(TenantId tenant, TaskView task) {
    validate(tenant, task.type(), task.spec().payload());
  }

  /** Validates the payload of an existing task, whose schema may have changed since. */
  public void validateAgain(TenantId tenant, TaskView task) {
    try {
      validate(tenant, task);
    } catch (ApiException e) {
      throw new ApiException(
          e.code(),
          "the payload no longer matches the schema of its type; edit it first: " + e.detail(),
          e.errors());
    }
  }

  private void check(
      TenantId tenant,
      String type,
      @Nullable String payload,
      String pointer,
      CheckBudget budget,
      ValidationErrors errors) {
    String schema = types.known(tenant, type).schema();
    if (schema == null) {
      return;
    }
    Optional<PayloadSchema> found = compiled.of(tenant, type, schema);
    if (found.isPresent()) {
      found.get().check(payload, pointer, budget, errors);
    } else { // accepted by an earlier version with other rules
      errors.add(
          pointer,
          ErrorCode.INVALID_SCHEMA,
          "cannot be validated: the schema of the type is not supported; update the type");
    }
  }
}
