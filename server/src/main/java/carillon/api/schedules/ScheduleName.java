package carillon.api.schedules;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Call;
import carillon.api.json.Fields;
import carillon.model.Echo;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The names of schedules: like those of types, except names that mean something else in a path or
 * on a command line.
 */
final class ScheduleName {

  private static final Pattern NAME =
      Pattern.compile("(?!\\.{1,2}$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,99}");

  private static final String RULE =
      "1 to 100 of A-Z a-z 0-9 _ . - that do not begin with -; not . or ..";

  private ScheduleName() {}

  /** The name in the path. */
  static String of(Call call) {
    String name = call.parameter("name");
    if (!NAME.matcher(name).matches()) {
      throw new ApiException(
          ErrorCode.INVALID_ID, Echo.of(name) + " is not a schedule's name: " + RULE);
    }
    return name;
  }

  /** The field {@code name}. */
  static @Nullable String read(Fields fields) {
    String name = fields.string("name");
    if (name != null && !NAME.matcher(name).matches()) {
      fields.wrong("name", ErrorCode.INVALID_VALUE, "must be " + RULE);
      return null;
    }
    return name;
  }
}
