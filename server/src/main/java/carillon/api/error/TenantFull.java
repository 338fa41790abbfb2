package carillon.api.error;

import carillon.model.TenantLimit;
import carillon.store.catalog.LimitReached;
import java.util.function.Supplier;

/** Turns {@link LimitReached} into the error that the API returns. */
public final class TenantFull {

  private TenantFull() {}

  /** Without a pointer: no field of the body is wrong. */
  public static ApiException error(LimitReached e) {
    return new ApiException(ErrorCode.LIMIT_REACHED, message(e));
  }

  private static ApiException error(LimitReached e, String pointer) {
    if (e.limit() == TenantLimit.SCHEDULES || e.limit() == TenantLimit.KEYS) {
      return error(e); // its name is in the URL, or it has no name
    }
    return ValidationErrors.one(
        new FieldError(pointer, ErrorCode.LIMIT_REACHED.code(), message(e)));
  }

  /** Runs the work; an exceeded limit becomes an error of this field. */
  public static <T> T reportedAt(String pointer, Supplier<T> work) {
    try {
      return work.get();
    } catch (LimitReached e) {
      throw error(e, pointer);
    }
  }

  /** The pointer to the field of one of several items. */
  public interface Place {
    String of(int index);
  }

  /** Runs work on several items; an exceeded limit becomes an error of the first item beyond it. */
  public static <T> T reportedAt(Place place, Supplier<T> work) {
    try {
      return work.get();
    } catch (LimitReached e) {
      throw error(e, place.of(e.index()));
    }
  }

  private static String message(LimitReached e) {
    String full = "this tenant may have at most " + e.max() + " " + e.limit().label();
    return switch (e.limit()) {
      case TYPES -> full + "; use an existing one, delete one, or ask an admin to raise maxTypes";
      case LANES ->
          full
              + " (one for each type, priority, slice and kind of target ever used); use an"
              + " existing one, or ask an admin to raise maxLanes";
      case SCHEDULES -> full + "; delete one, or ask an admin to raise maxSchedules";
      case KEYS ->
          full
              + " that are neither revoked nor expired; revoke one, or ask an admin to raise"
              + " maxKeys";
    };
  }
}
