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
 * Moves dead letters past their time to live into files. A letter is deleted only while it is
 * unchanged since its file was written, so a crash leaves it in the database, in a file, or in
 * both. Safe on several nodes at once.
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

  /** A complete file, whose letters may still be in the database. */
  private record Written(List<DeadLetterArchive.Letter> letters, String file) {}

  private @Nullable Written undropped;

  /** Why the last file could not be written; logged when it changes, counted each time. */
  private @Nullable String failure;

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

  /** One pass writes one file. Returns zero if there is more to archive. */
  Duration archiveOnce() {
    if (undropped != null) {
      drop(undropped, node.get().node());
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
      files.write(file, letters.stream().map(DeadLetterArchive.Letter::task).toList());
      failure = null;
    } catch (IOException e) {
      failed(e);
      return INTERVAL;
    }
    Written written = new Written(letters, file);
    undropped = written;
    if (drop(written, who) == 0) {
      // Another node was faster: it has archived these letters, and continues.
      discard(file);
      return INTERVAL;
    }
    return batch.hasMore() ? Duration.ZERO : INTERVAL;
  }

  /**
   * If the database does not respond, the letters may be deleted or not. The next pass then drops
   * them again instead of writing them to another file.
   */
  private int drop(Written written, String who) {
    int dropped = archive.drop(written.letters(), written.file(), who);
    undropped = null;
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
    // Without the file name, which differs each time.
    String reason = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
    reason = e.getClass().getSimpleName() + " " + reason;
    if (!reason.equals(failure)) {
      failure = reason;
      log.warn("cannot archive dead letters directory={} error={}", files, e.toString());
    }
  }

  /** Deletes a file that is not needed; harmless if it stays. */
  private void discard(String file) {
    try {
      files.delete(file);
    } catch (IOException e) {
      log.debug("cannot delete file={} error={}", file, e.toString());
    }
  }
}
