import carillon.client.Carillon;
import carillon.client.DeadTask;
import carillon.client.NewTask;
import carillon.client.RetryLater;
import carillon.client.TaskContext;
import carillon.client.Worker;
import java.time.Duration;
import java.util.Map;

/** A program that makes tasks, and a worker that does them. Usually these are two programs. */
public class JavaWorker {

  /** The payload. Any class that Jackson reads and writes will do. */
  public record Invoice(int number, String email) {}

  public static void main(String[] args) throws InterruptedException {
    String url = System.getenv().getOrDefault("CARILLON_URL", "http://127.0.0.1:8080");
    try (Carillon carillon = Carillon.connect(url, System.getenv("CARILLON_KEY"))) {
      Worker worker = start(carillon);
      // When the program is asked to stop: lets what runs end, and gives back the rest.
      Runtime.getRuntime().addShutdownHook(new Thread(worker::close));

      // In ten seconds, unless it is cancelled by its type and key before.
      carillon.enqueue(
          NewTask.of("invoice.send")
              .payload(new Invoice(42, "ada@example.com"))
              .key("invoice-42")
              .delay(Duration.ofSeconds(10)));

      worker.awaitStopped();
    }
  }

  /** Begins to take tasks: up to 16 at once, on virtual threads where Java has them. */
  public static Worker start(Carillon carillon) {
    return carillon
        .worker("invoices")
        .handle("invoice.send", Invoice.class, JavaWorker::send)
        .concurrency(16)
        .lease(Duration.ofSeconds(30)) // if this process dies, others take over after so long
        .start();
  }

  /** To return completes the task, to throw fails the attempt. */
  private static Object send(Invoice invoice, TaskContext context) {
    if (!invoice.email().contains("@")) {
      throw new DeadTask(invoice.email() + " is no address"); // no retry would help
    }
    if (context.attempt() == 1 && invoice.email().endsWith(".busy")) {
      throw new RetryLater("the mail server is busy", Duration.ofSeconds(1));
    }
    System.out.println("Sent invoice " + invoice.number() + " to " + invoice.email());
    return Map.of("sentTo", invoice.email()); // kept as the task's output
  }
}
