package carillon.model.task;

import org.jspecify.annotations.Nullable;

/**
 * A delivery result, with the request that was sent.
 *
 * @param request the request that was sent, as written by {@link
 *     carillon.model.target.SentRequest}; null if nothing was sent
 */
public record Delivery(DeliveryResult result, @Nullable String request) {

  public static Delivery unsent(DeliveryResult result) {
    return new Delivery(result, null);
  }
}
