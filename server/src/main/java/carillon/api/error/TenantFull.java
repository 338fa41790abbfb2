package carillon.api.error;

import carillon.model.TenantLimit;
import carillon.store.catalog.LimitReached;
import java.util.function.Supplier;

/** Says that a tenant has as many of something as it may have. */
public final class TenantFull {

  private TenantFull() {}

  /** Without a pointer: no field of the body is wrong. */
  public static ApiException answer(LimitReached e) {
    return new ApiException(ErrorCode.LIMIT_REACHED, message(e));
  }

  private static ApiException answer(LimitReached e, String pointer) {
    if (e.limit() == TenantLimit.SCHEDULES || e.limit() == TenantLimit.KEYS) {
      return answer(e); // its name is in the URL, or it has none
    }
    return ValidationErrors.one(
        new FieldError(pointer, ErrorCode.LIMIT_REACHED.code(), message(e)));
  }

  /** Does the work; if that is one too many, the answer points to this field. */
  public static <T> T pointingTo(String pointer, Supplier<T> work) {
    try {
      return work.get();
    } catch (LimitReached e) {
      throw answer(e, pointer);
    }
  }

  /** Which field of one of several is one too many. */
  public interface Place {
    String of(int index);
  }

  /** Does the work on several; the answer points to the first that is one too many. */
  public static <T> T pointingTo(Place place, Supplier<T> work) {
    try {
      return work.get();
    } catch (LimitReached e) {
      throw answer(e, place.of(e.index()));
    }
  }

  private static String message(LimitReached e) {
    String full = "this tenant may have " + e.max() + " " + e.limit().label();
    return switch (e.limit()) {
      case TYPES -> full + "; use one that exists, delete one, or have maxTypes raised";
      case LANES ->
          full
              + " (one for each type, priority, slice and kind of target ever used); use one that"
              + " exists, or have maxLanes raised";
      case SCHEDULES -> full + "; delete one, or have maxSchedules raised";
      case KEYS ->
          full + " that are neither revoked nor expired; revoke one, or have maxKeys raised";
    };
  }
}
