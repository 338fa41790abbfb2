package carillon;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks the dependencies between layers and the few rules that no compiler checks. */
class RoomsTest {

  private static final Path MAIN = Path.of("src/main");
  private static final Path TEST = Path.of("src/test");

  private static final JavaClasses PROGRAM =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          // Not a layer of the server: runs in the user's process, with its clock and database.
          .withImportOption(location -> !location.contains("/carillon/client/"))
          .importPackages("carillon");

  private static final JavaClasses TESTS =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.ONLY_INCLUDE_TESTS)
          .importPackages("carillon");

  @Test
  void layers_depend_on_lower_layers_only() {
    layeredArchitecture()
        .consideringOnlyDependenciesInLayers()
        .layer("app")
        .definedBy("carillon.app..")
        .layer("cli")
        .definedBy("carillon.cli..")
        .layer("api")
        .definedBy("carillon.api..")
        .layer("engine")
        .definedBy("carillon.engine..")
        .layer("cluster")
        .definedBy("carillon.cluster..")
        .layer("delivery")
        .definedBy("carillon.delivery..")
        .layer("store")
        .definedBy("carillon.store..")
        .layer("model")
        .definedBy("carillon.model..")
        .whereLayer("app")
        .mayNotBeAccessedByAnyLayer()
        .whereLayer("cli")
        .mayOnlyBeAccessedByLayers("app")
        .whereLayer("api")
        .mayOnlyBeAccessedByLayers("app")
        .whereLayer("engine")
        .mayOnlyBeAccessedByLayers("app")
        .whereLayer("cluster")
        .mayOnlyBeAccessedByLayers("app")
        .whereLayer("delivery")
        .mayOnlyBeAccessedByLayers("engine", "app")
        .whereLayer("store")
        .mayOnlyBeAccessedByLayers("engine", "cluster", "api", "app")
        .check(PROGRAM);
  }

  @Test
  void packages_have_no_cycles() {
    slices().matching("carillon.(**)").should().beFreeOfCycles().check(PROGRAM);
  }

  @Test
  void no_package_has_more_than_thirty_files() {
    Map<Path, Long> files =
        Stream.of(MAIN, Path.of("../bench/src/main"), Path.of("../chaos/src/main"))
            .flatMap(root -> files(root.resolve("java")))
            .collect(groupingBy(file -> file.resolveSibling(""), TreeMap::new, counting()));

    assertThat(files).allSatisfy((directory, count) -> assertThat(count).isLessThanOrEqualTo(30));
  }

  /** The classes of {@code store.db} that other layers may use. */
  private static final Set<String> SHARED =
      Set.of("Db", "DbClock", "Json", "Page", "StoreException", "Transitions", "Tx");

  /** Open a database, which only {@code app} does. */
  private static final Set<String> OPENING =
      Set.of("DatabaseCheck", "EmbeddedRole", "Migrations", "Pooler", "Timeline");

  @Test
  void only_a_few_classes_of_store_db_are_used_elsewhere() {
    noClasses()
        .that()
        .resideOutsideOfPackages("carillon.store..", "carillon.app..")
        .should()
        .dependOnClassesThat(inStoreDbOtherThan(SHARED))
        .check(PROGRAM);
    noClasses()
        .that()
        .resideInAPackage("carillon.app..")
        .should()
        .dependOnClassesThat(
            inStoreDbOtherThan(Stream.of(SHARED, OPENING).flatMap(Set::stream).collect(toSet())))
        .check(PROGRAM);
  }

  private static DescribedPredicate<JavaClass> inStoreDbOtherThan(Set<String> names) {
    return DescribedPredicate.describe(
        "are in store.db and none of " + names,
        type ->
            type.getPackageName().equals("carillon.store.db")
                && !names.contains(
                    type.getName()
                        .replaceFirst("^carillon.store.db.", "")
                        .replaceFirst("[$].*", "")));
  }

  @Test
  void the_model_depends_on_java_only() {
    classes()
        .that()
        .resideInAPackage("carillon.model..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage("java..", "carillon.model..", "org.jspecify.annotations..")
        .check(PROGRAM);
  }

  @Test
  void commands_do_not_use_the_layers_of_the_server() {
    noClasses()
        .that()
        .resideInAPackage("carillon.cli..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "carillon.store..",
            "carillon.engine..",
            "carillon.api..",
            "carillon.cluster..",
            "carillon.delivery..")
        .check(PROGRAM);
  }

  @ParameterizedTest
  @CsvSource({
    "store, java.sql..",
    "store.db, javax.sql..",
    "store, org.postgresql..",
    "store.db, com.zaxxer.hikari..",
    "store.db, org.flywaydb..",
    "delivery.http, org.apache.hc..",
    "delivery.rabbitmq, com.rabbitmq..",
    "delivery.kafka, org.apache.kafka..",
    "api, io.helidon..",
    "api.schema, com.networknt..",
    "api.schema, com.google.re2j.."
  })
  void a_library_is_used_in_one_package_only(String owner, String library) {
    noClasses()
        .that()
        .resideOutsideOfPackage("carillon." + owner + "..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage(library)
        .check(PROGRAM);
  }

  @Test
  void only_commands_use_picocli() {
    noClasses()
        .that()
        .resideOutsideOfPackages("carillon.app", "carillon.app.config", "carillon.cli..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("picocli..")
        .check(PROGRAM);
  }

  @Test
  void only_the_app_layer_reads_the_clock() {
    noClasses()
        .that()
        .resideOutsideOfPackage("carillon.app..")
        .should()
        .callMethodWhere(
            target(owner(resideInAPackage("java.time"))).and(target(nameMatching("now|system.*"))))
        .orShould()
        .callMethodWhere(
            target(owner(type(System.class))).and(target(nameMatching("currentTimeMillis"))))
        .because("time is a parameter, and the database's clock decides")
        .check(PROGRAM);
  }

  @Test
  void no_test_sleeps() {
    noClasses()
        .should()
        .callMethodWhere(target(owner(type(Thread.class))).and(target(nameMatching("sleep"))))
        .orShould()
        .callMethodWhere(target(owner(type(TimeUnit.class))).and(target(nameMatching("sleep"))))
        .check(TESTS);
  }

  @Test
  void class_names_have_no_vague_parts() {
    Stream<String> names =
        Stream.of(PROGRAM, TESTS).flatMap(JavaClasses::stream).map(JavaClass::getSimpleName);

    assertThat(names)
        .noneMatch(name -> name.matches(".*(Utils?|Helper|Manager|Impl)|(Abstract|Base)[A-Z].*"));
  }

  @Test
  void only_claiming_reaping_and_expiring_skip_locked_rows() {
    List<Path> files =
        files(MAIN)
            .filter(file -> read(file).toLowerCase(Locale.ROOT).contains("skip locked"))
            .toList();

    // The reaper skips a task that its holder is ending or renewing; the expirer, one that is being
    // claimed.
    assertThat(files)
        .containsExactlyInAnyOrder(
            MAIN.resolve("java/carillon/store/queue/Expiry.java"),
            MAIN.resolve("java/carillon/store/queue/WorkQueue.java"),
            MAIN.resolve("java/carillon/store/queue/HeldClaims.java"));
  }

  @Test
  void every_package_has_a_package_info() {
    List<Path> missing =
        Stream.of(MAIN, TEST)
            .map(root -> root.resolve("java"))
            .flatMap(root -> files(root).map(file -> root.relativize(file.resolveSibling(""))))
            .distinct()
            .filter(
                directory ->
                    Stream.of(MAIN, TEST)
                        .map(root -> root.resolve("java").resolve(directory))
                        .noneMatch(each -> Files.exists(each.resolve("package-info.java"))))
            .toList();

    assertThat(missing).isEmpty();
  }

  private static Stream<Path> files(Path root) {
    try (Stream<Path> paths = Files.walk(root)) {
      return paths.filter(Files::isRegularFile).toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
