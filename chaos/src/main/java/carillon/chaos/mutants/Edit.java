package carillon.chaos.mutants;

/**
 * One change to one class. It fails unless the class contains exactly the stated number of
 * occurrences.
 */
public sealed interface Edit {

  String className();

  /**
   * Replaces a text inside the string constants of a class, such as SQL.
   *
   * @param times expected number of occurrences
   */
  record Text(String className, String from, String to, int times) implements Edit {}

  /**
   * Replaces the calls of one method by calls of a static method.
   *
   * @param in the calling method; all overloads of this name
   * @param call the called method, such as {@code java.sql.Connection.commit}
   * @param replacement a class of this package with a static method of the same name; it takes the
   *     receiver first, and all objects as {@code Object}
   * @param times expected number of occurrences
   */
  record Call(String className, String in, String call, Class<?> replacement, int times)
      implements Edit {}
}
