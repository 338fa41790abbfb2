package carillon.chaos.mutants;

/** One change to one class; refused unless what it changes is there exactly as often as it says. */
public sealed interface Edit {

  String className();

  /**
   * Another text inside the string constants of a class, as its SQL is.
   *
   * @param times how often it stands there
   */
  record Text(String className, String from, String to, int times) implements Edit {}

  /**
   * Another method in the place of one that a method calls.
   *
   * @param in the method that calls; of all that have this name
   * @param call the one that is called, as {@code java.sql.Connection.commit}
   * @param standIn a class here, with a static method of the same name that takes the receiver too,
   *     and all as objects
   */
  record Call(String className, String in, String call, Class<?> standIn, int times)
      implements Edit {}
}
