package carillon.client;

import java.util.UUID;

/**
 * What the server made of a new task.
 *
 * @param id the id of the task
 * @param isNew false if it was unique and there was one already: then this is that one's id
 */
public record CreatedTask(UUID id, boolean isNew) {}
