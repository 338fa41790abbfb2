package carillon.api.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.error.Limits;
import carillon.api.json.BodyMemory;
import carillon.api.json.JsonText;
import carillon.api.json.SpillDirectories;
import carillon.model.TenantId;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class RequestBodyTest {

  private static final byte[] LINE =
      "{\"type\": \"t\", \"payload\": {\"a\": 1}}\n".getBytes(StandardCharsets.US_ASCII);

  /** A body that ends only with the test and whose bytes are always available. */
  private static final class Endless extends InputStream {
    private final AtomicBoolean ended;

    Endless(AtomicBoolean ended) {
      this.ended = ended;
    }

    @Override
    public int read() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int read(byte[] buffer, int offset, int length) {
      if (ended.get()) {
        return -1;
      }
      int size = Math.min(length, LINE.length);
      System.arraycopy(LINE, 0, buffer, offset, size);
      return size;
    }
  }

  private static void parse(BodyMemory memory, AtomicBoolean ended) {
    RequestBody body =
        new RequestBody(
            new RequestBody.Head(true, -1, false, RequestBody.NDJSON, null),
            _ -> new Endless(ended));
    try (BodyMemory.Share share = memory.share(new TenantId(1))) {
      body.chargeTo(share);
      body.lines(
          Integer.MAX_VALUE,
          Limits.BODY_BYTES,
          Duration.ofMinutes(2),
          (bytes, from, length) -> {
            if (length > 0) {
              JsonText.line(bytes, from, length, BodyMemory.Held.unbounded());
            }
          });
    }
  }

  @Test
  void large_bodies_on_all_cores_do_not_block_other_requests() throws InterruptedException {
    BodyMemory memory = new BodyMemory(1L << 30, new SpillDirectories(null));
    AtomicBoolean ended = new AtomicBoolean();
    List<Thread> parsers = new ArrayList<>();
    try {
      for (int i = 0; i < 4 * Runtime.getRuntime().availableProcessors(); i++) {
        parsers.add(Thread.ofVirtual().start(() -> parse(memory, ended)));
      }
      for (int i = 0; i < 20; i++) {
        CountDownLatch ran = new CountDownLatch(1);
        Thread.ofVirtual().start(ran::countDown);
        assertThat(ran.await(3, TimeUnit.SECONDS)).as("request " + i).isTrue();
      }
    } finally {
      ended.set(true);
      for (Thread parser : parsers) {
        parser.join();
      }
    }
  }
}
