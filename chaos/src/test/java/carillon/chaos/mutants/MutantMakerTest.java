package carillon.chaos.mutants;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.chaos.rules.Rule;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MutantMakerTest {

  private static final String SPEAKER = Speaker.class.getName();

  @TempDir Path directory;
  private Path jar = Path.of("");
  private Path classes = Path.of("");

  /** A class to mutate. */
  public static final class Speaker {

    private static final String STATEMENT =
        """
        UPDATE task
        WHERE fence = ?
        """;

    private Speaker() {}

    public static String statement() {
      return STATEMENT.concat(String.valueOf(length("")));
    }

    private static int length(String word) {
      return word.length();
    }
  }

  /** A replacement of a call. */
  public static final class Ten {
    private Ten() {}

    public static int length(Object word) {
      return 10;
    }
  }

  @BeforeEach
  void makeJar() throws IOException {
    jar = directory.resolve("program.jar");
    classes = directory.resolve("classes");
    String file = SPEAKER.replace('.', '/') + ".class";
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
        InputStream in = Speaker.class.getClassLoader().getResourceAsStream(file)) {
      out.putNextEntry(new JarEntry(file));
      out.write(Objects.requireNonNull(in).readAllBytes());
    }
  }

  private void make(Edit... edits) throws IOException {
    Mutant mutant =
        new Mutant("M0", "words", List.of(edits), List.of(), Mutant.Scenario.WORKERS, Rule.R1);
    new MutantMaker(jar).make(mutant, classes);
  }

  private String statement() throws IOException, ReflectiveOperationException {
    URL[] path = {classes.toUri().toURL(), jar.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(path, null)) {
      return (String) loader.loadClass(SPEAKER).getMethod("statement").invoke(null);
    } catch (InvocationTargetException e) {
      throw new AssertionError(e.getCause());
    }
  }

  @Test
  void a_text_edit_replaces_the_text() throws IOException, ReflectiveOperationException {
    make(new Edit.Text(SPEAKER, "WHERE fence = ?", "WHERE ? > 0", 1));

    assertThat(statement()).isEqualTo("UPDATE task\nWHERE ? > 0\n0");
  }

  @Test
  void a_call_edit_calls_the_replacement() throws IOException, ReflectiveOperationException {
    make(new Edit.Call(SPEAKER, "length", "java.lang.String.length", Ten.class, 1));

    assertThat(statement()).endsWith("\n10");
  }

  @Test
  void all_edits_of_a_class_are_applied() throws IOException, ReflectiveOperationException {
    make(
        new Edit.Text(SPEAKER, "UPDATE", "DELETE", 1),
        new Edit.Text(SPEAKER, "task", "tasks", 1),
        new Edit.Call(SPEAKER, "length", "java.lang.String.length", Ten.class, 1));

    assertThat(statement()).isEqualTo("DELETE tasks\nWHERE fence = ?\n10");
  }

  @Test
  void a_text_edit_with_the_wrong_number_of_occurrences_fails() {
    assertThatThrownBy(() -> make(new Edit.Text(SPEAKER, "WHERE fence", "WHERE", 2)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("M0: expected 2 occurrences, found 1");
    assertThatThrownBy(() -> make(new Edit.Text(SPEAKER, "WHERE term", "WHERE", 1)))
        .hasMessageContaining("M0: expected 1 occurrences, found 0");
  }

  @Test
  void a_call_edit_without_an_occurrence_fails() {
    assertThatThrownBy(
            () -> make(new Edit.Call(SPEAKER, "length", "java.lang.String.strip", Ten.class, 1)))
        .hasMessageContaining("M0: expected 1 occurrences, found 0");
  }

  @Test
  void an_edit_of_an_unknown_class_fails() {
    assertThatThrownBy(() -> make(new Edit.Text("no.Such", "a", "b", 1)))
        .hasMessage("The program has no class no.Such.");
  }

  @Test
  void every_mutant_can_be_built_from_the_program() throws IOException {
    Path server = Path.of("../server/target/carillon-server.jar");
    assertThat(server).as("the program, built before this module").exists();
    for (Mutant mutant : Mutants.ALL) {
      Path into = directory.resolve(mutant.name());

      new MutantMaker(server).make(mutant, into);

      for (Edit edit : mutant.edits()) {
        assertThat(into.resolve(edit.className().replace('.', '/') + ".class")).exists();
      }
    }
  }
}
