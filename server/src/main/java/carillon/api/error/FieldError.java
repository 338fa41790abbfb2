package carillon.api.error;

/**
 * One mistake in a body.
 *
 * @param pointer where it is (RFC 6901)
 * @param code as an {@link ErrorCode}, or finer where a target is refused
 */
public record FieldError(String pointer, String code, String message) {}
