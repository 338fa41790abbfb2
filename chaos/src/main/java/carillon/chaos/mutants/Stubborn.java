package carillon.chaos.mutants;

/** Once it has led, it believes that it always leads. */
public final class Stubborn {

  private Stubborn() {}

  public static boolean renew(Object leadership, Object term, Object lease) {
    return true;
  }
}
