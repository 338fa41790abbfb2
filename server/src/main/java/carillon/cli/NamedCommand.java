package carillon.cli;

import picocli.CommandLine.Parameters;

/** A command about one thing that has a name. */
public abstract class NamedCommand extends ApiCommand {

  private final String collection;

  @Parameters(paramLabel = "NAME", index = "0")
  private String name = "";

  /**
   * @param collection the path below which things have their names
   */
  public NamedCommand(Console console, String collection) {
    super(console);
    this.collection = collection;
  }

  protected final String name() {
    return name;
  }

  protected final String path(String suffix) {
    return path(collection + "/", name, suffix);
  }
}
