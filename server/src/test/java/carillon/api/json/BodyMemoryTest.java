package carillon.api.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.model.TenantId;
import carillon.store.tasks.SpillBuffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
class BodyMemoryTest {

  private static final int MIB = 1 << 20;
  private static final TenantId ONE = new TenantId(1);
  private static final TenantId OTHER = new TenantId(2);

  @TempDir Path data;

  private final BodyMemory memory = new BodyMemory(32 * MIB, new SpillDirectories(null));

  private static void spill(BodyMemory.Share share) {
    try (SpillBuffer buffer = new SpillBuffer(share)) {
      byte[] record = new byte[MIB];
      for (int i = 0; i < 4; i++) {
        buffer.add(record, 0, record.length);
      }
    }
  }

  @Test
  void spilled_rows_are_in_the_data_directory_readable_by_the_owner_only() throws IOException {
    BodyMemory withData = new BodyMemory(32 * MIB, new SpillDirectories(data));
    try (BodyMemory.Share share = withData.share(ONE)) {
      spill(share);

      Path own = data.resolve("tmp");
      assertThat(share.directories()).startsWith(own).hasSize(2);
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(own)))
          .isEqualTo("rwx------");
      assertThat(own).isEmptyDirectory();
    }
  }

  @Test
  void without_a_writable_data_directory_the_temporary_directory_is_used() throws IOException {
    Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
    Files.createFile(data.resolve("tmp")); // a file where the directory should be
    for (Path given : List.of(data, data.resolve("missing"))) {
      BodyMemory withoutData = new BodyMemory(32 * MIB, new SpillDirectories(given));
      try (BodyMemory.Share share = withoutData.share(ONE)) {
        spill(share);

        assertThat(share.directories()).containsExactly(temporary);
        assertThat(data.resolve("missing")).doesNotExist();
      }
    }
  }

  @Test
  void a_tenant_gets_at_most_a_quarter_of_the_memory_and_a_clear_error() {
    try (BodyMemory.Share one = memory.share(ONE);
        BodyMemory.Share more = memory.share(ONE);
        BodyMemory.Share other = memory.share(OTHER)) {
      one.reserveMemory(8 * MIB);

      ApiException rejected =
          catchThrowableOfType(ApiException.class, () -> more.reserveMemory(1024));

      assertThat(rejected.code()).isEqualTo(ErrorCode.OVERLOADED);
      assertThat(rejected.detail()).contains("this tenant's requests", "8 MiB");
      assertThat(rejected.headers()).containsEntry("Retry-After", "1");
      assertThat(rejected.closes()).isTrue();
      other.reserveMemory(8 * MIB);
    }
    assertThat(memory.used()).isZero();
  }

  @Test
  void a_tenant_that_holds_little_gets_memory_while_others_hold_their_maximum() {
    List<BodyMemory.Share> shares = new ArrayList<>();
    for (int tenant = 10; tenant < 14; tenant++) {
      BodyMemory.Share share = memory.share(new TenantId(tenant));
      shares.add(share);
      share.reserveMemory(7 * MIB);
    }
    try (BodyMemory.Share small = memory.share(ONE);
        BodyMemory.Share large = memory.share(OTHER)) {
      small.reserveMemory(4 << 10);

      ApiException rejected =
          catchThrowableOfType(ApiException.class, () -> large.reserveMemory(MIB));

      assertThat(rejected.detail()).contains("this node");
    }
    shares.forEach(BodyMemory.Share::close);
    assertThat(memory.used()).isZero();
  }

  @Test
  void a_waiting_large_request_does_not_block_a_small_one() throws Exception {
    BodyMemory.Share holder = memory.share(ONE);
    holder.reserveMemory(8 * MIB);
    CountDownLatch waits = new CountDownLatch(1);
    CompletableFuture<Void> large =
        CompletableFuture.runAsync(
            () -> {
              try (BodyMemory.Share share = memory.share(ONE)) {
                waits.countDown();
                share.reserveMemory(4 * MIB);
              }
            });
    assertThat(waits.await(10, TimeUnit.SECONDS)).isTrue();

    try (BodyMemory.Share small = memory.share(OTHER)) {
      small.reserveMemory(1024);
    }
    holder.close();

    large.get(10, TimeUnit.SECONDS);
    assertThat(memory.used()).isZero();
  }

  @Test
  void two_requests_that_want_each_others_memory_do_not_wait_forever() {
    BodyMemory.Share one = memory.share(ONE);
    BodyMemory.Share two = memory.share(ONE);
    one.reserveMemory(4 * MIB);
    two.reserveMemory(4 * MIB);

    List<CompletableFuture<ApiException>> both =
        List.of(one, two).stream()
            .map(
                share ->
                    CompletableFuture.supplyAsync(
                        () ->
                            catchThrowableOfType(
                                ApiException.class, () -> share.reserveMemory(MIB))))
            .toList();

    for (CompletableFuture<ApiException> each : both) {
      assertThat(each).succeedsWithin(Duration.ofSeconds(10));
    }
    one.close();
    two.close();
    assertThat(memory.used()).isZero();
  }

  @Test
  void data_that_can_spill_leaves_memory_for_data_that_cannot() {
    try (BodyMemory.Share share = memory.share(ONE)) {
      assertThat(share.tryReserveMemory(MIB)).isTrue();
      assertThat(share.tryReserveMemory(1024)).isFalse();

      share.reserveMemory(7 * MIB);
    }
    assertThat(memory.used()).isZero();
  }

  @Test
  void a_parsed_body_holds_the_memory_of_its_values() {
    try (BodyMemory.Share share = memory.share(ONE)) {
      BodyMemory.Held held = share.held();
      held.need(MIB);

      held.shrinkTo(700);

      assertThat(memory.used()).isEqualTo(1024);
    }
    assertThat(memory.used()).isZero();
  }

  @Test
  void small_values_count_with_their_size_in_memory() {
    byte[] bytes =
        ("{\"a\":[" + "{\"b\":0},".repeat(10_000) + "0]}")
            .getBytes(java.nio.charset.StandardCharsets.UTF_8);
    try (BodyMemory.Share share = memory.share(ONE)) {
      BodyMemory.Held held = share.held();
      held.need(bytes.length);

      JsonValue.Members object = JsonText.object(bytes, bytes.length, held);

      assertThat(object.fields()).hasSize(1);
      assertThat(memory.used()).isGreaterThan(20L * bytes.length);
    }
  }
}
