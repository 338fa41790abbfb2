package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.model.cluster.NodeLease;
import carillon.store.db.DbClock;
import carillon.store.deadletters.DeadLetterArchive;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves dead letters that nobody wanted for long enough into files. Harmless on several nodes at
 * once: a letter goes from the database only while it is as some file has it, so whatever crashes,
 * it is in one of the two, or in both.
 */
final class Archiver {

  private static final Logger log = LoggerFactory.getLogger(Archiver.class);
  private static final Duration INTERVAL = Duration.ofSeconds(30);
  private static final int MAX_LETTERS = 2_000;
  private static final long MAX_BYTES = 16 << 20;

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HHmmss.SSS", Locale.ROOT).withZone(ZoneOffset.UTC);

  private final DeadLetterArchive archive;
  private final ArchiveFiles files;
  private final Duration ttl;
  private final DbClock clock;
  private final Supplier<NodeLease> node;
  private final Consumer<EngineEvent> events;

  /** A file that is written, with letters that may not have been dropped yet. */
  private record Written(List<DeadLetterArchive.Letter> letters, String file) {}

  private @Nullable Written unsettled;

  /** Why the last file could not be written; said when it changes, counted each time. */
  private @Nullable String trouble;

  Archiver(
      DeadLetterArchive archive,
      ArchiveFiles files,
      Duration ttl,
      DbClock clock,
      Supplier<NodeLease> node,
      Consumer<EngineEvent> events) {
    this.archive = archive;
    this.files = files;
    this.ttl = ttl;
    this.clock = clock;
    this.node = node;
    this.events = events;
  }

  /** One pass makes one file. Returns zero if there is more to archive. */
  Duration archiveOnce() {
    if (unsettled != null) {
      settle(unsettled, node.get().node());
      return Duration.ZERO;
    }
    DeadLetterArchive.Batch batch = archive.oldest(ttl, MAX_LETTERS, MAX_BYTES);
    List<DeadLetterArchive.Letter> letters = batch.letters();
    if (letters.isEmpty()) {
      return INTERVAL;
    }
    String who = node.get().node();
    String file = fileName(who);
    try {
      files.write(file, letters.stream().map(letter -> letter.task().line()).iterator());
      trouble = null;
    } catch (IOException e) {
      failed(e);
      return INTERVAL;
    }
    Written written = new Written(letters, file);
    unsettled = written;
    if (settle(written, who) == 0) {
      // Another node was faster and is at it, so it may go on alone; what we have, it has too.
      discard(file);
      return INTERVAL;
    }
    return batch.isMore() ? Duration.ZERO : INTERVAL;
  }

  /**
   * If the database does not answer, the letters may be gone or not: then they are dropped again in
   * the next pass, and not written to yet another file.
   */
  private int settle(Written written, String who) {
    int dropped = archive.drop(written.letters(), written.file(), who);
    unsettled = null;
    if (dropped > 0) {
      log.info("archived tasks={} file={}", dropped, written.file());
      events.accept(new EngineEvent.Archived(dropped));
    }
    return dropped;
  }

  private String fileName(String who) {
    byte[] random = new byte[4];
    ThreadLocalRandom.current().nextBytes(random);
    return "dead-letters-%s-%s-%s.ndjson.gz"
        .formatted(TIME.format(clock.instant()), who, HexFormat.of().formatHex(random));
  }

  private void failed(IOException e) {
    events.accept(new EngineEvent.ArchiveFailed());
    // Without the name of the file, which is another one each time.
    String reason = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
    reason = e.getClass().getSimpleName() + " " + reason;
    if (!reason.equals(trouble)) {
      trouble = reason;
      log.warn(
          "cannot archive dead letters, so they stay; directory={} error={}", files, e.toString());
    }
  }

  /** It is not needed, and does no harm if it stays. */
  private void discard(String file) {
    try {
      files.delete(file);
    } catch (IOException e) {
      log.debug("cannot delete file={} error={}", file, e.toString());
    }
  }
}
