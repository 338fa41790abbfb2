package carillon.app;

/** Constructs, starts and stops everything. */
final class Wiring {

  private Wiring() {}

  @SuppressWarnings("DoNotCallSuggester")
  static Running start(Config config) {
    throw new IllegalStateException("not wired yet");
  }
}
