package carillon.chaos.mutants;

/** Runs suspects in one large group, also those that one more crash makes dead. */
public final class Crowd {

  private static final int LARGE = 1_000;

  private Crowd() {}

  public static int size(Object groups, int crashes) {
    return LARGE;
  }
}
