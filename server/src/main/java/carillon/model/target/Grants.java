package carillon.model.target;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * To which places of which brokers a tenant may publish.
 *
 * @param all null means everywhere
 */
public record Grants(@Nullable List<Grant> all) {

  public static final Grants EVERYWHERE = new Grants(null);
  public static final Grants NOWHERE = new Grants(List.of());

  /** How many a tenant may have. */
  public static final int MOST = 100;

  /** What a grant looks like, for people. */
  public static final String RULE =
      "kafka/CLUSTER/TOPIC or rabbitmq/CLUSTER/EXCHANGE-OR-QUEUE, where * stands for any text";

  private static final int MAX_CHARACTERS = 300;

  /**
   * Some places of one broker.
   *
   * @param place a name in which {@code *} stands for any text
   */
  public record Grant(BrokerName broker, String place) {

    /** Empty if this is not how a grant is written. */
    public static Optional<Grant> parse(String text) {
      int end = text.indexOf('/', text.indexOf('/') + 1);
      if (end < 0
          || end == text.length() - 1
          || text.length() > MAX_CHARACTERS
          || text.chars().anyMatch(Character::isISOControl)) {
        return Optional.empty();
      }
      return BrokerName.parse(text.substring(0, end))
          .map(broker -> new Grant(broker, text.substring(end + 1)));
    }

    public String text() {
      return broker.text() + "/" + place;
    }

    /** By parts, not by a pattern: many stars would take a pattern very long to refuse. */
    boolean covers(String name) {
      String[] parts = place.split(Pattern.quote("*"), -1);
      if (parts.length == 1) {
        return name.equals(place);
      }
      String last = parts[parts.length - 1];
      int at = parts[0].length();
      if (!name.startsWith(parts[0]) || name.length() < at + last.length()) {
        return false;
      }
      int end = name.length() - last.length();
      for (int i = 1; i < parts.length - 1; i++) {
        int found = name.indexOf(parts[i], at);
        if (found < 0 || found + parts[i].length() > end) {
          return false;
        }
        at = found + parts[i].length();
      }
      return name.endsWith(last);
    }
  }

  public Grants {
    all = all == null ? null : List.copyOf(all);
  }

  /** Whether anything at all of this broker is granted. */
  public boolean reach(BrokerName broker) {
    return all == null || all.stream().anyMatch(grant -> grant.broker().equals(broker));
  }

  boolean allow(BrokerName broker, String place) {
    return all == null
        || all.stream().anyMatch(one -> one.broker().equals(broker) && one.covers(place));
  }
}
