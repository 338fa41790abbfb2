package carillon.e2e;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;

/** Clients that submit tasks of one type in a closed loop, and record 503 responses. */
final class Producer implements AutoCloseable {

  private final Carillon api;
  private final String type;
  private final Queue<Accepted> accepted = new ConcurrentLinkedQueue<>();
  private final Queue<Duration> failures = new ConcurrentLinkedQueue<>();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean stopped;

  /** A task that was accepted with 202, and the time of the response. */
  private record Accepted(String id, long nanoTime) {}

  private Producer(Carillon api, String type) {
    this.api = api;
    this.type = type;
  }

  static Producer start(Carillon api, String type, int clients) {
    Producer producer = new Producer(api, type);
    for (int i = 0; i < clients; i++) {
      producer.threads.add(Thread.ofVirtual().start(producer::submit));
    }
    return producer;
  }

  private void submit() {
    while (!stopped) {
      long start = System.nanoTime();
      try {
        String id = api.post("/v1/tasks", Map.of("type", type)).path("id").asString();
        accepted.add(new Accepted(id, System.nanoTime()));
      } catch (CarillonException e) {
        if (e.status() == 503) {
          failures.add(Duration.ofNanos(System.nanoTime() - start));
        } else if (e.status() != CarillonException.NO_ANSWER) {
          throw e;
        }
      }
    }
  }

  Set<String> accepted() {
    return accepted.stream().map(Accepted::id).collect(Collectors.toSet());
  }

  /** The number of tasks accepted in the second before this time. */
  long acceptedInTheSecondBefore(long nanoTime) {
    return accepted.stream()
        .map(each -> nanoTime - each.nanoTime())
        .filter(age -> age >= 0 && age < Duration.ofSeconds(1).toNanos())
        .count();
  }

  /** The tasks accepted from this time on. */
  Set<String> acceptedSince(long nanoTime) {
    return accepted.stream()
        .filter(each -> each.nanoTime() - nanoTime >= 0)
        .map(Accepted::id)
        .collect(Collectors.toSet());
  }

  /** The response times of requests that failed with 503. */
  List<Duration> failures() {
    return List.copyOf(failures);
  }

  @Override
  public void close() {
    stopped = true;
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
