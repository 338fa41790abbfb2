package carillon.model;

/**
 * Who may claim from a lane. A task with a target of its own lies in a PUSH or PULL lane; the
 * others follow their type, so that changing the type's target moves no row.
 */
public enum Route {
  /** As the type's target says at the time of the claim. */
  TYPE,
  /** Claimed by engines and delivered. */
  PUSH,
  /** Claimed by workers that pull. */
  PULL;

  public static Route of(Target own) {
    return own instanceof Target.Pull ? PULL : PUSH;
  }

  /** Whether workers claim here, given what the type's target is. */
  public boolean isPulled(Target ofType) {
    return switch (this) {
      case TYPE -> ofType instanceof Target.Pull;
      case PUSH -> false;
      case PULL -> true;
    };
  }
}
