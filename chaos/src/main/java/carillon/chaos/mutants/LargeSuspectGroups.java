package carillon.chaos.mutants;

/** Runs suspects in one large group, including those on their last chance. */
public final class LargeSuspectGroups {

  private static final int LARGE = 1_000;

  private LargeSuspectGroups() {}

  public static int size(Object groups, int crashes) {
    return LARGE;
  }
}
