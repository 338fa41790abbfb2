package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.model.Echo;
import java.util.UUID;
import java.util.regex.Pattern;

/** Reads ids in paths. */
public final class PathIds {

  // UUID.fromString accepts "1-1-1-1-1".
  private static final Pattern CANONICAL =
      Pattern.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");

  private PathIds() {}

  /**
   * Reads the parameter {@code id}.
   *
   * @param thing the kind of resource, for the error message
   */
  public static UUID uuid(Call call, String thing) {
    String id = call.parameter("id");
    if (!CANONICAL.matcher(id).matches()) {
      throw new ApiException(ErrorCode.INVALID_ID, Echo.of(id) + " is not the id of a " + thing);
    }
    return UUID.fromString(id);
  }
}
