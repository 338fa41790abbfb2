package carillon.api.error;

/**
 * One error in a request body.
 *
 * @param pointer to the field (RFC 6901)
 * @param code an {@link ErrorCode}, or a more specific code for a target
 */
public record FieldError(String pointer, String code, String message) {}
