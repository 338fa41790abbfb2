package carillon.app.cli;

import picocli.CommandLine.Parameters;

/** A command about one thing that has a name. */
abstract class NamedCommand extends ApiCommand {

  private final String collection;

  @Parameters(paramLabel = "NAME", index = "0")
  private String name = "";

  /**
   * @param collection the path below which things have their names
   */
  NamedCommand(Console console, String collection) {
    super(console);
    this.collection = collection;
  }

  final String name() {
    return name;
  }

  final String path(String suffix) {
    return path(collection + "/", name, suffix);
  }
}
