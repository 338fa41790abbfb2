package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Runs the tutorial in the README of the client: the code between the marks of this class equals
 * the code blocks there.
 */
class TutorialTest {

  private static final Path README = Path.of("../client/README.md");
  private static final Path SOURCE = Path.of("src/test/java/carillon/client/TutorialTest.java");
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```java\n(.*?)^```$");
  private static final Pattern MARKED =
      Pattern.compile("(?ms)^ *// README begins\n(.*?)^ *// README ends$");

  @RegisterExtension static final Servers servers = new Servers();

  private static final Queue<String> out = new ConcurrentLinkedQueue<>();

  @Test
  void every_code_block_of_the_readme_is_run_by_this_class() throws IOException {
    List<String> blocks = blocksOf(BLOCK, README);

    assertThat(blocks).hasSizeGreaterThan(5).isEqualTo(blocksOf(MARKED, SOURCE));
  }

  private static List<String> blocksOf(Pattern pattern, Path file) throws IOException {
    return pattern
        .matcher(Files.readString(file))
        .results()
        .map(match -> match.group(1).stripTrailing().stripIndent())
        .toList();
  }

  @Test
  void the_tutorial_works() throws Exception {
    ServerProcess server = servers.startOn(Postgres.freshDatabase());
    String url = server.url().toString();
    String key = server.adminKey();

    // README begins
    Carillon carillon = Carillon.connect(url, key);

    // README ends
    // README begins
    record Invoice(int number, String to) {}

    // README ends
    // README begins
    CreatedTask sent =
        carillon.enqueue(
            NewTask.of("invoice.send").payload(new Invoice(42, "ada@example.org")).key("42"));
    CreatedTask reminder =
        carillon.enqueue(
            NewTask.of("invoice.remind")
                .payload(new Invoice(42, "ada@example.org"))
                .key("42")
                .delay(Duration.ofDays(14)));

    // README ends
    // README begins
    Worker worker =
        carillon
            .worker("mailer")
            .handle(
                "invoice.send",
                Invoice.class,
                (invoice, context) -> {
                  print("invoice " + invoice.number() + " to " + invoice.to());
                  return Map.of("sent", true);
                })
            .concurrency(16)
            .start();

    // README ends
    await().until(() -> carillon.task(sent.id()).orElseThrow().status().isTerminal());
    // README begins
    TaskView task = carillon.task(sent.id()).orElseThrow();
    print(task.status() + " " + task.output());

    int cancelled = carillon.cancel("invoice.remind", "42");
    print("reminders cancelled: " + cancelled);

    // README ends
    // README begins
    List<UUID> ids =
        carillon.enqueueAll(
            List.of(NewTask.of("order.pack").payload(1), NewTask.of("order.pack").payload(2)));

    CompletableFuture<CreatedTask> later =
        carillon.enqueueAsync(NewTask.of("order.pack").payload(3).priority(9));

    // README ends
    // README begins
    Worker packer =
        carillon
            .worker("packer")
            .handle(
                "order.pack",
                Integer.class,
                (order, context) -> {
                  if (order == 1) {
                    throw new DeadTask("order 1 has nothing in it");
                  }
                  if (order == 2 && context.attempt() == 1) {
                    throw new RetryLater("the shelf is empty", Duration.ofMillis(100));
                  }
                  context.progress("packing");
                  if (context.isCancelled()) {
                    throw context.release();
                  }
                  return null;
                })
            .lease(Duration.ofSeconds(30))
            .start();

    // README ends
    await().until(() -> carillon.task(ids.get(1)).orElseThrow().status().isTerminal());
    await().until(() -> carillon.task(later.join().id()).orElseThrow().status().isTerminal());
    // README begins
    carillon.putSchedule(
        NewSchedule.cron("nightly", "0 2 * * *")
            .timezone("Europe/Berlin")
            .type("invoice.send")
            .payload(new Invoice(0, "books@example.org")));
    UUID now = carillon.triggerSchedule("nightly");

    // README ends
    await().until(() -> carillon.task(now).orElseThrow().status().isTerminal());
    // README begins
    packer.close();
    worker.close();
    carillon.close();

    // README ends
    try (Carillon after = server.connect()) {
      assertThat(out)
          .contains("invoice 42 to ada@example.org", "invoice 0 to books@example.org")
          .contains("COMPLETED {\"sent\":true}", "reminders cancelled: 1");
      assertThat(status(after, reminder.id())).isEqualTo(TaskStatus.CANCELLED);
      assertThat(status(after, ids.get(0))).isEqualTo(TaskStatus.DEAD);
      assertThat(after.task(ids.get(1)).orElseThrow().attempt()).isEqualTo(2);
      assertThat(status(after, ids.get(1))).isEqualTo(TaskStatus.COMPLETED);
    }
  }

  private static TaskStatus status(Carillon carillon, UUID id) {
    return carillon.task(id).orElseThrow().status();
  }

  private static void print(String line) {
    out.add(line);
  }
}
