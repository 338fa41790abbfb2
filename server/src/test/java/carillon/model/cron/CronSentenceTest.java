package carillon.model.cron;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.cron.Recurrence.Reading;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CronSentenceTest {

  private static String described(String cron) {
    return switch (Recurrence.read(cron, "nightly")) {
      case Reading.Invalid invalid -> invalid.message();
      case Reading.Valid(Recurrence recurrence) -> recurrence.description();
    };
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "* * * * *                  | Every minute",
        "*/1 * * * *                | Every minute",
        "*/15 * * * *               | Every 15 minutes",
        "0,30 * * * *               | Every 30 minutes",
        "0/20 * * * *               | Every 20 minutes",
        "*/7 * * * *                | At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour",
        "1-59/2 * * * *             | At every 2nd minute from 1 through 59 of every hour",
        "0-29 * * * *               | At minutes 0 through 29 of every hour",
        "0-10,30-40 * * * *         | At minutes 0 through 10 and 30 through 40 of every hour",
        "5,20,35 * * * *            | At minutes 5, 20 and 35 of every hour",
        "0 * * * *                  | Every hour",
        "5 * * * *                  | At minute 5 of every hour",
        "0 */2 * * *                | Every 2 hours",
        "15 */6 * * *               | Every 6 hours at minute 15",
        "0 */12 * * *               | At 00:00 and 12:00 every day",
        "0 1-23/2 * * *             | At minute 0 of every 2nd hour from 1 through 23 every day",
        "0 9-17 * * *               | Every hour from 09:00 through 17:00 every day",
        "5 9-17 * * MON-FRI         | Every hour from 09:05 through 17:05 on Monday through Friday",
        "*/15 9-17 * * 1-5          | Every 15 minutes from 09:00 through 17:45 on Monday through"
            + " Friday",
        "* 9 * * *                  | Every minute from 09:00 through 09:59 every day",
        "* 3,6,9 * * *              | Every minute in hours 3, 6 and 9 every day",
        "*/10 3,6 * * *             | Every 10 minutes in hours 3 and 6 every day",
        "1,2,5 3,6,9 * * *          | At minutes 1, 2 and 5 of hours 3, 6 and 9 every day",
        "30 2 * * *                 | At 02:30 every day",
        "0 0 * * *                  | At 00:00 every day",
        "0 8,12,18 * * *            | At 08:00, 12:00 and 18:00 every day",
        "0,30 9 * * *               | At 09:00 and 09:30 every day",
        "0 9 * * 1-5                | At 09:00 on Monday through Friday",
        "0 9 * * MON                | At 09:00 every Monday",
        "0 9 * * mon,thu            | At 09:00 on Monday and Thursday",
        "0 9 * * 0                  | At 09:00 every Sunday",
        "0 9 * * 7                  | At 09:00 every Sunday",
        "0 9 * * 6,0                | At 09:00 on Saturday and Sunday",
        "0 9 * * SAT-SUN            | At 09:00 on Saturday and Sunday",
        "0 9 * * FRI-SUN            | At 09:00 on Friday through Sunday",
        "0 9 * * 0-7                | At 09:00 every day",
        "0 9 * * */2                | At 09:00 on Tuesday, Thursday, Saturday and Sunday",
        "0 9 * * 5L                 | At 09:00 on the last Friday of the month",
        "0 9 * * MON#2              | At 09:00 on the second Monday of the month",
        "0 9 * * 1#1,1#3            | At 09:00 on the first Monday and the third Monday of the"
            + " month",
        "0 9 * * WED,FRIL           | At 09:00 on Wednesday and the last Friday of the month",
        "0 9 * 6 MON#2              | At 09:00 on the second Monday of June",
        "0 9 * JUN MON              | At 09:00 every Monday in June",
        "0 0 1 * *                  | At 00:00 on day 1 of the month",
        "0 0 1,15 * *               | At 00:00 on days 1 and 15 of the month",
        "0 0 1-7 * *                | At 00:00 on days 1 through 7 of the month",
        "0 0 */2 * *                | At 00:00 on every 2nd day from 1 through 31 of the month",
        "0 0 */10 * ?               | At 00:00 on days 1, 11, 21 and 31 of the month",
        "0 0 L * *                  | At 00:00 on the last day of the month",
        "0 0 L-3 * *                | At 00:00 on the 3rd day before the last day of the month",
        "0 0 LW * *                 | At 00:00 on the last weekday of the month",
        "0 0 15W * *                | At 00:00 on the weekday nearest to day 15 of the month",
        "0 0 1,L * *                | At 00:00 on day 1 and the last day of the month",
        "0 0 1 1 *                  | At 00:00 on day 1 of January",
        "0 0 1 */3 *                | At 00:00 on day 1 of January, April, July and October",
        "0 0 * 6-8 *                | At 00:00 every day in June through August",
        "*/5 * * 12 *               | Every 5 minutes in December",
        "0 0 29 2 *                 | At 00:00 on day 29 of February",
        "0 0 13 * 5                 | At 00:00 on day 13 of the month or every Friday",
        "0 0 1,15 * MON-FRI         | At 00:00 on days 1 and 15 of the month or on Monday through"
            + " Friday",
        "0 0 13 6 FRI               | At 00:00 on day 13 of June or every Friday in June",
        "0 0 */2 * 1                | At 00:00 on every 2nd day from 1 through 31 of the month, if"
            + " that is Monday",
        "0 0 13 * */2               | At 00:00 on day 13 of the month, if that is Tuesday,"
            + " Thursday, Saturday and Sunday",
        "0 0 1-31 * 1               | At 00:00 every day",
        "* * * * * *                | Every second",
        "*/10 * * * * *             | Every 10 seconds",
        "30 * * * * *               | At second 30 of every minute",
        "5,35 * * * * *             | At seconds 5 and 35 of every minute",
        "15 30 2 * * *              | At 02:30:15 every day",
        "*/10 * 9 * * *             | Every 10 seconds from 09:00 through 09:59 every day",
        "*/30 5 * * * *             | Every 30 seconds in minute 5 of every hour",
        "10 0-4 9 * * *             | At 09:00:10, 09:01:10, 09:02:10, 09:03:10 and 09:04:10 every"
            + " day",
        "0 0 12 ? * MON-FRI         | At 12:00 on Monday through Friday",
        "@yearly                    | At 00:00 on day 1 of January",
        "@weekly                    | At 00:00 every Sunday",
        "@every 90s                 | Every 90 seconds",
        "@every 1s                  | Every second",
        "@every 90m                 | Every 90 minutes",
        "@every 1500ms              | Every 1500 milliseconds",
        "@every PT36H               | Every 36 hours",
        "@every 7d                  | Every 7 days",
        "H H * * *                  | At 10:11 every day",
        "H/15 * * * *               | At minutes 11, 26, 41 and 56 of every hour",
        "H H(0-5) * * H             | At 04:11 every Thursday"
      })
  void the_description_reads_like_english(String cron, String sentence) {
    assertThat(described(cron)).isEqualTo(sentence);
  }
}
