package carillon.chaos.mutants;

/** Leads for ever, once it has led. */
public final class Stubborn {

  private Stubborn() {}

  public static boolean renew(Object leadership, Object term, Object lease) {
    return true;
  }
}
