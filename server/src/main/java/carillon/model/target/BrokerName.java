package carillon.model.target;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A broker cluster by the name that the operator registered it under, such as {@code kafka/main}.
 */
public record BrokerName(Kind kind, String cluster) implements Comparable<BrokerName> {

  private static final Pattern CLUSTER = Pattern.compile("[a-z0-9][a-z0-9-]{0,39}");

  /** The kind of broker. */
  public enum Kind {
    KAFKA,
    RABBITMQ;

    /** The name in the API. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static Optional<Kind> parse(String text) {
      return Arrays.stream(values()).filter(kind -> kind.text().equals(text)).findFirst();
    }
  }

  /** Whether this is a valid name of a cluster. */
  public static boolean isCluster(String name) {
    return CLUSTER.matcher(name).matches();
  }

  /** Empty if the text is not a valid broker name. */
  public static Optional<BrokerName> parse(String text) {
    int slash = text.indexOf('/');
    if (slash < 0 || !isCluster(text.substring(slash + 1))) {
      return Optional.empty();
    }
    return Kind.parse(text.substring(0, slash))
        .map(kind -> new BrokerName(kind, text.substring(slash + 1)));
  }

  public String text() {
    return kind.text() + "/" + cluster;
  }

  @Override
  public int compareTo(BrokerName other) {
    return text().compareTo(other.text());
  }

  @Override
  public String toString() {
    return text();
  }
}
