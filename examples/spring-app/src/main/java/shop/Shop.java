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

/** A web application that takes orders and confirms each of them a moment later. */
@SpringBootApplication
public class Shop {

  public static void main(String[] args) {
    SpringApplication.run(Shop.class, args);
  }

  /** What is ordered; the payload of the task too. */
  public record Order(int number, String email) {}

  /** Takes orders. */
  @RestController
  public static class Orders {

    private final Carillon carillon; // made by the starter from carillon.url and carillon.key

    public Orders(Carillon carillon) {
      this.carillon = carillon;
    }

    /** Answers with the id of the task that will confirm the order. */
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

  /** Confirms orders: on this instance of the application, or on another one. */
  @Component
  public static class Confirmations {

    private static final Logger log = LoggerFactory.getLogger(Confirmations.class);

    /** What it returns is kept as the task's output; if it throws, it is tried again later. */
    @CarillonTask("order.confirmation")
    public Map<String, String> confirm(Order order, TaskContext context) {
      log.info("Order {} confirmed, attempt {}", order.number(), context.attempt());
      return Map.of("sentTo", order.email());
    }
  }
}
