package carillon.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DatabaseUrlTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "postgresql://me:pw@db:5433/tasks            | jdbc:postgresql://db:5433/tasks             "
            + "    | me      | pw",
        "postgres://me@db/tasks                      | jdbc:postgresql://db/tasks                  "
            + "    | me      |",
        "postgresql://db                             | jdbc:postgresql://db/                       "
            + "    |         |",
        "postgresql://a%40b:p%2Fw%3A+1@db/t          | jdbc:postgresql://db/t                      "
            + "    | a@b     | p/w:+1",
        "postgresql://me:a:b@db/t                    | jdbc:postgresql://db/t                      "
            + "    | me      | a:b",
        "postgresql://[::1]:5432/t?sslmode=require   |"
            + " jdbc:postgresql://[::1]:5432/t?sslmode=require  |         |",
        "postgresql://a:1,b:2/t                      | jdbc:postgresql://a:1,b:2/t                 "
            + "    |         |",
        "postgresql://h/t?connect_timeout=3&user=u   | jdbc:postgresql://h/t?connectTimeout=3      "
            + "    | u       |",
        "postgresql://a,b/t?target_session_attrs=read-write |"
            + " jdbc:postgresql://a,b/t?targetServerType=primary |         |",
        "jdbc:postgresql://h:1/t?user=u&password=p%26 | jdbc:postgresql://h:1/t                    "
            + "    | u       | p&",
        "jdbc:postgresql://h/t?a=b&user=u&c=d        | jdbc:postgresql://h/t?a=b&c=d               "
            + "    | u       |",
        "jdbc:postgresql://u:p@h/t                   | jdbc:postgresql://h/t                       "
            + "    | u       | p",
      })
  void credentials_are_removed_from_the_url(
      String text, String jdbcUrl, @Nullable String user, @Nullable String password) {
    assertThat(DatabaseUrl.parse(text)).contains(new DatabaseUrl(jdbcUrl, user, password));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "db",
        "mysql://db/t",
        "postgresql:db",
        "postgresql://",
        "postgresql:///t",
        "postgresql://h:0/t",
        "postgresql://h:65536/t",
        "postgresql://h:x/t",
        "postgresql://h/a/b",
        "postgresql://h /t",
        "postgresql://u:%zz@h/t",
        "postgresql://u:a@b@h/t",
        "jdbc:mysql://h/t",
        "postgresql://h,/t",
        "postgresql://h/t\nx"
      })
  void invalid_urls_are_rejected(String text) {
    assertThat(DatabaseUrl.parse(text)).isEmpty();
  }
}
