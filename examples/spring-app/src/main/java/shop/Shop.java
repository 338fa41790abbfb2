package shop;

import carillon.client.Carillon;
import carillon.client.NewTask;
import carillon.client.TaskContext;
import carillon.spring.CarillonTask;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** A web application that accepts orders and confirms each of them a moment later. */
@SpringBootApplication
public class Shop {

  public static void main(String[] args) {
    SpringApplication.run(Shop.class, args);
  }

  /** An order, and the payload of its task. */
  public record Order(int number, String email) {}

  @RestController
  public static class Orders {

    private final Carillon carillon; // configured by the starter from carillon.url and carillon.key

    public Orders(Carillon carillon) {
      this.carillon = carillon;
    }

    /** Returns the id of the task that will confirm the order. */
    @PostMapping("/orders")
    public UUID order(@RequestBody Order order) {
      return carillon
          .enqueue(
              NewTask.of("order.confirmation")
                  .payload(order)
                  .key("order-" + order.number())
                  .delay(Duration.ofSeconds(1)))
          .id();
    }
  }

  /** Confirms orders, on this or another instance of the application. */
  @Component
  public static class Confirmations {

    private static final Logger log = LoggerFactory.getLogger(Confirmations.class);

    /** The return value is the output of the task. If it throws, the task is retried. */
    @CarillonTask("order.confirmation")
    public Map<String, String> confirm(Order order, TaskContext context) {
      log.info("Order {} confirmed, attempt {}", order.number(), context.attempt());
      return Map.of("sentTo", order.email());
    }
  }
}
