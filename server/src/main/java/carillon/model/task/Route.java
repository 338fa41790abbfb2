package carillon.model.task;

import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Who may claim from a lane. A task with a target of its own lies in a lane of another kind than
 * TYPE; the others follow their type, so that changing the type's target moves no row.
 *
 * @param broker to which the lane's tasks are published; null where they are not
 */
public record Route(Kind kind, @Nullable BrokerName broker) {

  public static final Route TYPE = new Route(Kind.TYPE, null);
  public static final Route PUSH = new Route(Kind.PUSH, null);
  public static final Route PULL = new Route(Kind.PULL, null);

  /** Who claims. */
  public enum Kind {
    /** As the type's target says at the time of the claim. */
    TYPE,
    /** Claimed by engines and delivered. */
    PUSH,
    /** Claimed by workers that pull. */
    PULL,
    /** Claimed by engines that reach the broker; complete when it has confirmed. */
    PUBLISH,
    /** Claimed by engines that reach the broker, for a consumer who reports. */
    REPORT
  }

  public Route {
    if ((kind == Kind.PUBLISH || kind == Kind.REPORT) != (broker != null)) {
      throw new IllegalArgumentException("a broker belongs to PUBLISH and REPORT");
    }
  }

  /** The route of tasks that have this target of their own. */
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

  /** Empty if no lane can have this route. */
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

  /** As the lane's row has it. */
  public String text() {
    return broker == null ? kind.name() : kind + ":" + broker.text();
  }

  /** What claims here amount to, given what the type's target is: never TYPE. */
  public Route given(Target ofType) {
    return kind == Kind.TYPE ? of(ofType) : this;
  }

  /** Whether workers claim here, given what the type's target is. */
  public boolean isPulled(Target ofType) {
    return given(ofType).kind() == Kind.PULL;
  }
}
