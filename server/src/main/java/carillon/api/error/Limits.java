package carillon.api.error;

import carillon.model.cron.Every;
import carillon.model.cron.Recurrence;
import java.time.Duration;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Every limit on what a client may send; also the response of {@code GET /v1/limits}. */
public final class Limits {

  public static final int BODY_BYTES = 1 << 20;

  /** Strings, numbers, objects, ...: each takes an object in memory, however short it is. */
  public static final int BODY_VALUES = 30_000;

  public static final int BATCH_BYTES = 64 << 20;
  public static final int BATCH_TASKS = 100_000;
  public static final int PAYLOAD_BYTES = 256 << 10;
  public static final int OUTPUT_BYTES = 64 << 10;
  public static final int RESTORE_TASKS = 1_000;
  public static final int ARCHIVE_LINE_BYTES = 32 << 20;
  public static final int DEPTH = 64;
  public static final int KEY_CHARS = 200;
  public static final int METADATA_PAIRS = 16;
  public static final int METADATA_NAME_CHARS = 64;
  public static final int METADATA_VALUE_CHARS = 512;
  public static final int PAGE_ITEMS = 1000;
  public static final int PAGE_ITEMS_DEFAULT = 100;
  public static final int CLAIM_TASKS = 1000;
  public static final int CLAIM_TYPES = 100;
  public static final int ATTEMPTS = 100;
  public static final int STATUS_CODES = 50;
  public static final int SCHEMA_BYTES = 64 << 10;
  public static final int CATCH_UP = 1_000;
  public static final int PREVIEWED = 100;
  public static final int LISTED_FIRES = 30;
  public static final int PAUSE_AFTER_FAILURES = 1_000;
  public static final int REASON_CHARS = 500;
  public static final int STREAMS = 1_000;
  public static final int STREAMS_OF_TENANT = 100;
  public static final int WATCHED_TASKS = 100;
  public static final int REQUEST_LINE_BYTES = 8 << 10;
  public static final int HEADER_BYTES = 16 << 10;
  public static final int HEADERS = 100;
  public static final Duration HORIZON = Duration.ofDays(730);
  public static final Duration CLAIM_WAIT = Duration.ofMinutes(1);
  public static final Duration LEASE_MIN = Duration.ofSeconds(1);
  public static final Duration LEASE_MAX = Duration.ofHours(24);
  public static final Duration TIMEOUT_MIN = Duration.ofSeconds(1);
  public static final Duration TIMEOUT_MAX = Duration.ofMinutes(30);
  public static final Duration BACKOFF_MAX = Duration.ofDays(30);

  public static final Duration CATCH_UP_WINDOW_MIN = Duration.ofMinutes(1);
  public static final Duration CATCH_UP_WINDOW_MAX = Duration.ofDays(366);
  public static final Duration FIRE_JITTER_MAX = Duration.ofHours(24);

  private Limits() {}

  public static ObjectNode json() {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("bodyBytes", BODY_BYTES);
    node.put("bodyValues", BODY_VALUES);
    node.put("batchBytes", BATCH_BYTES);
    node.put("batchTasks", BATCH_TASKS);
    node.put("payloadBytes", PAYLOAD_BYTES);
    node.put("outputBytes", OUTPUT_BYTES);
    node.put("restoreTasks", RESTORE_TASKS);
    node.put("archiveLineBytes", ARCHIVE_LINE_BYTES);
    node.put("jsonDepth", DEPTH);
    node.put("keyChars", KEY_CHARS);
    node.put("metadataPairs", METADATA_PAIRS);
    node.put("metadataNameChars", METADATA_NAME_CHARS);
    node.put("metadataValueChars", METADATA_VALUE_CHARS);
    node.put("pageItems", PAGE_ITEMS);
    node.put("claimTasks", CLAIM_TASKS);
    node.put("claimTypes", CLAIM_TYPES);
    node.put("maxAttempts", ATTEMPTS);
    node.put("statusCodes", STATUS_CODES);
    node.put("schemaBytes", SCHEMA_BYTES);
    node.put("cronChars", Recurrence.MAX_CHARACTERS);
    node.put("catchUpLimit", CATCH_UP);
    node.put("previewCount", PREVIEWED);
    node.put("listedFires", LISTED_FIRES);
    node.put("streams", STREAMS);
    node.put("streamsOfTenant", STREAMS_OF_TENANT);
    node.put("watchedTasks", WATCHED_TASKS);
    node.put("requestLineBytes", REQUEST_LINE_BYTES);
    node.put("headerBytes", HEADER_BYTES);
    node.put("headers", HEADERS);
    node.put("horizon", HORIZON.toString());
    node.put("claimWait", CLAIM_WAIT.toString());
    node.put("leaseMin", LEASE_MIN.toString());
    node.put("leaseMax", LEASE_MAX.toString());
    node.put("timeoutMin", TIMEOUT_MIN.toString());
    node.put("timeoutMax", TIMEOUT_MAX.toString());
    node.put("intervalMin", Every.MIN.toString());
    node.put("intervalMax", Every.MAX.toString());
    return node;
  }
}
