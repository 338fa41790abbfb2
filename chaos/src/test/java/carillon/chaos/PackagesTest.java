package carillon.chaos;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Keeps the packages of this module small and free of cycles. */
class PackagesTest {

  private static final int MAX_FILES = 30;

  @Test
  void packages_form_no_cycle() {
    slices()
        .matching("carillon.(**)")
        .should()
        .beFreeOfCycles()
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("carillon.chaos"));
  }

  @Test
  void no_package_has_more_than_30_files() throws IOException {
    List<Path> files;
    try (Stream<Path> paths = Files.walk(Path.of("src/main/java"))) {
      files = paths.filter(Files::isRegularFile).toList();
    }

    Map<Path, Long> counts =
        files.stream().collect(groupingBy(file -> file.resolveSibling(""), counting()));

    assertThat(counts)
        .isNotEmpty()
        .allSatisfy((_, count) -> assertThat(count).isLessThanOrEqualTo(MAX_FILES));
  }
}
