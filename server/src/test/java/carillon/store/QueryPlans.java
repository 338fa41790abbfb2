package carillon.store;

import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.World;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Plans of SQL statements, with the planner settings of the program's own connections. */
public final class QueryPlans {

  private QueryPlans() {}

  /** The generic plan, which does not depend on the arguments. */
  public static String genericPlan(World world, String sql) {
    Matcher placeholders = Pattern.compile("\\?").matcher(sql);
    StringBuilder numbered = new StringBuilder();
    for (int i = 1; placeholders.find(); i++) {
      placeholders.appendReplacement(numbered, "\\$" + i);
    }
    return explain(world, "EXPLAIN (GENERIC_PLAN) " + placeholders.appendTail(numbered));
  }

  /** Every class of {@code carillon.store} and its subpackages. */
  static List<Class<?>> storeClasses() {
    ClassLoader loader = Db.class.getClassLoader();
    try {
      Path root = Path.of(Db.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      try (Stream<Path> files = Files.walk(root.resolve("carillon/store"))) {
        List<Class<?>> classes = new ArrayList<>();
        for (Path file : files.map(root::relativize).sorted().toList()) {
          String name = file.toString().replace('/', '.');
          if (name.endsWith(".class")
              && !name.contains("$")
              && !name.endsWith("package-info.class")) {
            classes.add(Class.forName(name.substring(0, name.lastIndexOf('.')), false, loader));
          }
        }
        return classes;
      }
    } catch (IOException | URISyntaxException | ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The SQL texts in the constants of all classes of the store. */
  static Stream<String> statements() {
    return storeClasses().stream()
        .flatMap(type -> Stream.of(type.getDeclaredFields()))
        .filter(field -> Modifier.isStatic(field.getModifiers()) && field.getType() == String.class)
        .map(QueryPlans::statement);
  }

  /** The class of the store with this simple name. */
  public static Class<?> storeClass(String name) {
    return storeClasses().stream()
        .filter(type -> type.getSimpleName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** The SQL text in this constant. */
  public static String statement(Field field) {
    try {
      field.setAccessible(true);
      return (String) field.get(null);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Runs a statement without arguments and returns its plan with row counts and buffers. */
  public static String analyze(World world, String sql) {
    return explain(world, "EXPLAIN (ANALYZE, BUFFERS) " + sql);
  }

  private static String explain(World world, String sql) {
    // In simple mode the driver does not ask for the arguments, which a generic plan leaves open.
    var simple =
        new Db.Address(
            world.address.url() + "?preferQueryMode=simple",
            world.address.user(),
            world.address.password());
    try (Connection connection = Postgres.connect(simple);
        Statement statement = connection.createStatement()) {
      for (String off :
          List.of(
              "enable_seqscan",
              "enable_hashjoin",
              "enable_mergejoin",
              "enable_incremental_sort",
              "enable_bitmapscan",
              "jit")) {
        statement.execute("SET " + off + " = off"); // like Db
      }
      statement.execute("SET max_parallel_workers_per_gather = 0");
      StringBuilder plan = new StringBuilder();
      try (ResultSet rows = statement.executeQuery(sql)) {
        while (rows.next()) {
          plan.append(rows.getString(1)).append('\n');
        }
      }
      return plan.toString();
    } catch (SQLException e) {
      throw new AssertionError(sql, e);
    }
  }
}
