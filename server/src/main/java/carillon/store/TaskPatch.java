package carillon.store;

import carillon.model.RetryPolicy;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** The changes to make to a waiting or dead task; what is null stays. */
public record TaskPatch(
    @Nullable Instant dueAt,
    @Nullable Integer priority,
    @Nullable String payload,
    @Nullable RetryPolicy retry,
    @Nullable String key) {}
