package carillon.api.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.api.error.ValidationErrors;
import carillon.model.TenantId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class CompiledSchemasTest {

  private static final TenantId TENANT = new TenantId(1);
  private static final String TEXT = "{\"type\":\"object\"}";

  private final AtomicInteger compilations = new AtomicInteger();

  private Optional<PayloadSchema> compile(String text) {
    compilations.incrementAndGet();
    return PayloadSchema.compile(text, "", new ValidationErrors());
  }

  @Test
  void concurrent_callers_compile_a_schema_once() throws Exception {
    List<Thread> threads = new ArrayList<>();
    CompiledSchemas schemas =
        new CompiledSchemas(
            text -> {
              Thread compiling = Thread.currentThread();
              await().until(() -> allWaitFor(compiling, threads));
              return compile(text);
            },
            Long.MAX_VALUE);
    for (int i = 0; i < 8; i++) {
      threads.add(new Thread(() -> schemas.of(TENANT, "order", TEXT)));
    }

    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }

    assertThat(compilations).hasValue(1);
    assertThat(schemas.of(TENANT, "order", TEXT)).isPresent();
    assertThat(compilations).hasValue(1);
  }

  private static boolean allWaitFor(Thread compiling, List<Thread> threads) {
    return threads.stream()
        .filter(thread -> !thread.equals(compiling))
        .allMatch(thread -> thread.getState() == Thread.State.BLOCKED);
  }

  @Test
  void no_caller_waits_for_the_schema_of_another_type() throws Exception {
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch compiling = new CountDownLatch(1);
    AtomicReference<Optional<PayloadSchema>> slow = new AtomicReference<>(Optional.empty());
    CompiledSchemas schemas =
        new CompiledSchemas(
            text -> {
              if (text.equals("true")) {
                compiling.countDown();
                await().until(() -> release.getCount() == 0);
              }
              return compile(text);
            },
            Long.MAX_VALUE);
    Thread thread = Thread.startVirtualThread(() -> slow.set(schemas.of(TENANT, "slow", "true")));
    compiling.await();

    assertThat(schemas.of(TENANT, "order", TEXT)).isPresent();

    release.countDown();
    thread.join();
    assertThat(slow.get()).isPresent();
  }

  @Test
  void a_changed_schema_is_compiled_again() {
    CompiledSchemas schemas = new CompiledSchemas(this::compile, Long.MAX_VALUE);

    schemas.of(TENANT, "order", TEXT);
    schemas.of(TENANT, "order", "true");
    schemas.of(new TenantId(2), "order", "true");

    assertThat(compilations).hasValue(3);
    assertThat(schemas.size()).isEqualTo(2);
  }

  @Test
  void the_cache_is_bounded_by_memory_and_evicts_the_least_recently_used() {
    CompiledSchemas schemas = new CompiledSchemas(this::compile, 1 << 20);
    String heavy = "{\"pattern\":\"a{1000}b{1000}c{1000}\"}"; // about 300 KB

    schemas.of(TENANT, "often", TEXT);
    for (int i = 0; i < 10; i++) {
      schemas.of(TENANT, "heavy-" + i, heavy);
      schemas.of(TENANT, "often", TEXT);
    }

    assertThat(schemas.size()).isBetween(3, 4);
    assertThat(compilations).hasValue(11);
    schemas.of(TENANT, "heavy-9", heavy);
    assertThat(compilations).hasValue(11);
  }

  @Test
  void a_failed_compilation_is_retried() {
    CompiledSchemas schemas =
        new CompiledSchemas(
            text -> {
              if (compilations.get() == 0) {
                compilations.incrementAndGet();
                throw new IllegalStateException("broken");
              }
              return compile(text);
            },
            Long.MAX_VALUE);

    assertThatThrownBy(() -> schemas.of(TENANT, "order", TEXT)).hasMessage("broken");

    assertThat(schemas.of(TENANT, "order", TEXT)).isPresent();
  }
}
