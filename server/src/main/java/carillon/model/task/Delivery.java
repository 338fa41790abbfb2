package carillon.model.task;

import org.jspecify.annotations.Nullable;

/**
 * The result of one delivery.
 *
 * @param request the request that was sent, as written by {@link
 *     carillon.model.target.SentRequest}; null if nothing was sent
 */
public record Delivery(DeliveryResult result, @Nullable String request) {

  public static Delivery unsent(DeliveryResult result) {
    return new Delivery(result, null);
  }
}
