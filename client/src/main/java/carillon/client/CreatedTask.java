package carillon.client;

import java.util.UUID;

/**
 * A task that was created.
 *
 * @param id the task id
 * @param isNew false if the task is unique and existed already; {@code id} is then the existing one
 */
public record CreatedTask(UUID id, boolean isNew) {}
