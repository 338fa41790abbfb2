package carillon.api.error;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The errors found in one request body, so that a client gets several at once. */
public final class ValidationErrors {

  private static final int MAX = 20;

  private final List<FieldError> errors = new ArrayList<>();

  public void add(String pointer, ErrorCode code, String message) {
    add(new FieldError(pointer, code.code(), message));
  }

  public void add(FieldError error) {
    if (errors.size() < MAX) {
      errors.add(error);
    }
  }

  public void addTo(ValidationErrors others) {
    errors.forEach(others::add);
  }

  public boolean isFull() {
    return errors.size() >= MAX;
  }

  public int count() {
    return errors.size();
  }

  public boolean isEmpty() {
    return errors.isEmpty();
  }

  /** Throws the errors, if there are any. */
  public void throwIfAny() {
    if (!errors.isEmpty()) {
      throw asException();
    }
  }

  public static ApiException one(FieldError error) {
    ValidationErrors errors = new ValidationErrors();
    errors.add(error);
    return errors.asException();
  }

  private ApiException asException() {
    // A malformed body (400) comes before one that is too large (413), and that before invalid
    // values (422).
    FieldError first =
        errors.stream().min(Comparator.comparingInt(error -> codeOf(error).status())).orElseThrow();
    String more = errors.size() == 1 ? "" : ", and " + (errors.size() - 1) + " more";
    return new ApiException(codeOf(first), first.pointer() + ": " + first.message() + more, errors);
  }

  private static ErrorCode codeOf(FieldError error) {
    // The rules for targets have more specific codes, and use some of ours with another meaning.
    return ErrorCode.named(error.code())
        .filter(
            code ->
                !error.pointer().contains("/target/")
                    || code.status() == 422
                    || code == ErrorCode.UNKNOWN_FIELD)
        .orElse(ErrorCode.TARGET_NOT_ALLOWED);
  }
}
