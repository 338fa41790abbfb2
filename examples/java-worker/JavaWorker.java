import carillon.client.Carillon;
import carillon.client.DeadTask;
import carillon.client.NewTask;
import carillon.client.RetryLater;
import carillon.client.TaskContext;
import carillon.client.Worker;
import java.time.Duration;
import java.util.Map;

/** Creates a task and runs a worker that handles it. Usually these are two programs. */
public class JavaWorker {

  /** The payload: any class that Jackson can read and write. */
  public record Invoice(int number, String email) {}

  public static void main(String[] args) throws InterruptedException {
    String url = System.getenv().getOrDefault("CARILLON_URL", "http://127.0.0.1:8080");
    try (Carillon carillon = Carillon.connect(url, System.getenv("CARILLON_KEY"))) {
      Worker worker = start(carillon);
      // On shutdown, running handlers finish and the other tasks are released.
      Runtime.getRuntime().addShutdownHook(new Thread(worker::close));

      // Due in ten seconds, unless it is cancelled by type and key before.
      carillon.enqueue(
          NewTask.of("invoice.send")
              .payload(new Invoice(42, "ada@example.com"))
              .key("invoice-42")
              .delay(Duration.ofSeconds(10)));

      worker.awaitStopped();
    }
  }

  /** Starts a worker with up to 16 concurrent tasks, on virtual threads if Java has them. */
  public static Worker start(Carillon carillon) {
    return carillon
        .worker("invoices")
        .handle("invoice.send", Invoice.class, JavaWorker::send)
        .concurrency(16)
        .lease(Duration.ofSeconds(30)) // if this process dies, others get its tasks after this time
        .start();
  }

  /** Returning completes the task, throwing fails the attempt. */
  private static Object send(Invoice invoice, TaskContext context) {
    if (!invoice.email().contains("@")) {
      throw new DeadTask(invoice.email() + " is not an address"); // no retry would help
    }
    if (context.attempt() == 1 && invoice.email().endsWith(".busy")) {
      throw new RetryLater("the mail server is busy", Duration.ofSeconds(1));
    }
    System.out.println("Sent invoice " + invoice.number() + " to " + invoice.email());
    return Map.of("sentTo", invoice.email()); // the output of the task
  }
}
