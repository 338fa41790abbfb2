package carillon.model.task;

import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Which claimers may claim from a lane. A lane of kind TYPE holds the tasks without a target of
 * their own, which follow their type: changing the type's target moves no rows. Tasks with their
 * own target are in lanes of the other kinds.
 *
 * @param broker the broker that the lane's tasks are published to; null if they are not published
 */
public record Route(Kind kind, @Nullable BrokerName broker) {

  public static final Route TYPE = new Route(Kind.TYPE, null);
  public static final Route PUSH = new Route(Kind.PUSH, null);
  public static final Route PULL = new Route(Kind.PULL, null);

  /** The kind of claimer. */
  public enum Kind {
    /** Decided by the type's target at the time of the claim. */
    TYPE,
    /** Claimed by engines and delivered. */
    PUSH,
    /** Claimed by pull workers. */
    PULL,
    /** Claimed by engines connected to the broker; a task completes on the broker's confirm. */
    PUBLISH,
    /** Claimed by engines connected to the broker; a task completes on its consumer's report. */
    REPORT
  }

  public Route {
    if ((kind == Kind.PUBLISH || kind == Kind.REPORT) != (broker != null)) {
      throw new IllegalArgumentException("a broker belongs to PUBLISH and REPORT");
    }
  }

  /** The route of tasks that have their own target. */
  public static Route of(Target own) {
    return switch (own) {
      case Target.Pull() -> PULL;
      case Target.Http _, Target.Discard() -> PUSH;
      case Target.Broker to ->
          new Route(
              switch (to.complete()) {
                case ON_PUBLISH -> Kind.PUBLISH;
                case ON_REPORT -> Kind.REPORT;
              },
              to.broker());
    };
  }

  /** Reads what {@link #text} wrote; empty if it is not a route. */
  public static Optional<Route> parse(String text) {
    return switch (text) {
      case "TYPE" -> Optional.of(TYPE);
      case "PUSH" -> Optional.of(PUSH);
      case "PULL" -> Optional.of(PULL);
      default -> parsePublished(text);
    };
  }

  private static Optional<Route> parsePublished(String text) {
    for (Kind kind : new Kind[] {Kind.PUBLISH, Kind.REPORT}) {
      if (text.startsWith(kind + ":")) {
        return BrokerName.parse(text.substring(kind.name().length() + 1))
            .map(broker -> new Route(kind, broker));
      }
    }
    return Optional.empty();
  }

  /** The value in the lane's row. */
  public String text() {
    return broker == null ? kind.name() : kind + ":" + broker.text();
  }

  /** The route after TYPE is replaced by the route of the type's target. */
  public Route given(Target ofType) {
    return kind == Kind.TYPE ? of(ofType) : this;
  }

  /** Whether pull workers claim from the lane when its type has this target. */
  public boolean isPulled(Target ofType) {
    return given(ofType).kind() == Kind.PULL;
  }
}
