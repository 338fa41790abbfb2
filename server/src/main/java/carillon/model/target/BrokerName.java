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

  /** What speaks there. */
  public enum Kind {
    KAFKA,
    RABBITMQ;

    /** As everybody outside writes it. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static Optional<Kind> parse(String text) {
      return Arrays.stream(values()).filter(kind -> kind.text().equals(text)).findFirst();
    }
  }

  /** Whether a cluster can be registered under this name. */
  public static boolean isCluster(String name) {
    return CLUSTER.matcher(name).matches();
  }

  /** Empty if this is the name of no broker that there could be. */
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
