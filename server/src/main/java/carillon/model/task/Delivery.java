package carillon.model.task;

import org.jspecify.annotations.Nullable;

/**
 * One attempt as its deliverer made it.
 *
 * @param request what was sent, as {@link carillon.model.target.SentRequest} writes it; null if
 *     nothing was
 */
public record Delivery(DeliveryResult result, @Nullable String request) {

  /** Nothing was sent. */
  public static Delivery unsent(DeliveryResult result) {
    return new Delivery(result, null);
  }
}
