package carillon.model.target;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The topics, exchanges and queues that a tenant may publish to.
 *
 * @param all null means all of them
 */
public record Grants(@Nullable List<Grant> all) {

  public static final Grants EVERYWHERE = new Grants(null);
  public static final Grants NOWHERE = new Grants(List.of());

  /** Per tenant. */
  public static final int MAX = 100;

  /** The syntax of a grant, for messages. */
  public static final String RULE =
      "kafka/CLUSTER/TOPIC or rabbitmq/CLUSTER/EXCHANGE-OR-QUEUE, where * stands for any text";

  private static final int MAX_CHARACTERS = 300;

  /**
   * Topics, exchanges or queues of one broker.
   *
   * @param destination a name in which {@code *} matches any text
   */
  public record Grant(BrokerName broker, String destination) {

    /** Empty if the text is not a grant. */
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
      return broker.text() + "/" + destination;
    }

    /** Compares part by part, because a regex with many stars may backtrack for very long. */
    boolean covers(String name) {
      String[] parts = destination.split(Pattern.quote("*"), -1);
      if (parts.length == 1) {
        return name.equals(destination);
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

  /** Whether anything of this broker is granted. */
  public boolean reach(BrokerName broker) {
    return all == null || all.stream().anyMatch(grant -> grant.broker().equals(broker));
  }

  boolean allow(BrokerName broker, String destination) {
    return all == null
        || all.stream().anyMatch(one -> one.broker().equals(broker) && one.covers(destination));
  }
}
