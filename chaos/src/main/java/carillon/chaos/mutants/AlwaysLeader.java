package carillon.chaos.mutants;

/** Claims that the renewal of a leader lease always succeeds. */
public final class AlwaysLeader {

  private AlwaysLeader() {}

  public static boolean renew(Object leadership, Object term, Object lease) {
    return true;
  }
}
